// The build is relative to its page, so that it works behind a path prefix, and inlines nothing,
// because the Content-Security-Policy forbids inline scripts and styles.
import { defineConfig } from "vite";

const archive = process.env.VARVE_URL ?? "http://127.0.0.1:17665";

export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../engine/serve/ui/dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: { proxy: { "/api": archive, "/healthz": archive } },
});
