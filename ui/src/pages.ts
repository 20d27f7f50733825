// The pages. Each has a line here, and its path has one in engine/serve/ui/ui.go.

import type { ComponentType } from "preact";
import type { Look } from "./theme";

export interface PageOf {
  /** The name of the page, which is the last segment of its path. */
  name: string;
  /** What the navigation calls the page. A page without a title is not in the navigation. */
  title?: string;
  load: () => Promise<{ default: ComponentType<{ look: Look }> }>;
}

export const pages: PageOf[] = [
  { name: "", title: "Explore", load: () => import("./pages/explore") },
  { name: "pvs", title: "PVs", load: () => import("./pages/pvs") },
  { name: "pv", load: () => import("./pages/pv") },
  { name: "archive", title: "Archive", load: () => import("./pages/archive") },
  { name: "groups", title: "Groups", load: () => import("./pages/groups") },
];
