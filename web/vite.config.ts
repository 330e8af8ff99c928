// Builds the report's template as one file, crates/lab/dist/report.html, with script and style inside it.
//
// The file is committed and compiled into the program, so the build is deterministic: fixed versions (npm ci), no
// hashes, no dates. What others wrote goes with its licence, at the end of the file.

import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** The licences of the packages that end up in the page. */
const LICENCES = [
  "echarts/LICENSE",
  "echarts/NOTICE",
  "echarts/licenses/LICENSE-d3",
  "zrender/LICENSE",
  "tslib/LICENSE.txt",
];

function licences(): Plugin {
  const text = (path: string): string =>
    readFileSync(new URL(`node_modules/${path}`, import.meta.url), "utf8").replaceAll("\r\n", "\n");
  const comment = (path: string): string => `<!-- ${path}\n\n${text(path).replaceAll("--", "- -").trim()}\n-->\n`;
  return {
    name: "licences",
    transformIndexHtml: (html) => html.replace("</body>", () => LICENCES.map(comment).join("") + "</body>"),
  };
}

export default defineConfig({
  plugins: [licences(), viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    outDir: "../crates/lab/dist",
    emptyOutDir: false,
    modulePreload: false,
    rolldownOptions: { input: "report.html" },
  },
});
