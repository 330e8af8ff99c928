// Builds the report's template as one file, dist/report.html, with script and style inside it.
//
// The file is committed and compiled into the program, so the build is deterministic: fixed versions (npm ci), no
// hashes, no dates.

import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    modulePreload: false,
    rolldownOptions: { input: "report.html" },
  },
});
