// Builds two pages, each as one file with script and style inside it: the report's template, crates/lab/dist/report.html,
// and with `--mode explore` the page Explore, into which `cargo xtask web` puts the library.
//
// The template is committed and compiled into the program, so the build is deterministic: fixed versions (npm ci), no
// hashes, no dates. What others wrote goes with its licence, at the end of the file.

import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";
import { plainPage } from "./src/explore/plain";

/** The licences of the packages that end up in a page. */
const LICENCES = [
  "echarts/LICENSE",
  "echarts/NOTICE",
  "echarts/licenses/LICENSE-d3",
  "zrender/LICENSE",
  "tslib/LICENSE.txt",
];

function licences(paths: string[]): Plugin {
  const text = (path: string): string =>
    readFileSync(new URL(`node_modules/${path}`, import.meta.url), "utf8").replaceAll("\r\n", "\n");
  const comment = (path: string): string => `<!-- ${path}\n\n${text(path).replaceAll("--", "- -").trim()}\n-->\n`;
  return {
    name: "licences",
    transformIndexHtml: (html) => html.replace("</body>", () => paths.map(comment).join("") + "</body>"),
  };
}

/** What readers without scripts see of Explore. */
function plain(): Plugin {
  const picture = (): string => readFileSync(new URL("../docs/explore.png", import.meta.url)).toString("base64");
  return {
    name: "plain",
    transformIndexHtml: (html) => html.replace("<!--explore-plain-->", () => plainPage(picture())),
  };
}

export default defineConfig(({ mode }) => ({
  plugins:
    mode === "explore"
      ? [plain(), licences([...LICENCES, "fflate/LICENSE"]), viteSingleFile({ removeViteModuleLoader: true })]
      : [licences(LICENCES), viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    outDir: mode === "explore" ? "../target/web" : "../crates/lab/dist",
    emptyOutDir: false,
    modulePreload: false,
    rolldownOptions: { input: mode === "explore" ? "explore.html" : "report.html" },
  },
}));
