// The pages, each loaded when it is first shown.

import type { ComponentType } from "preact";
import { nav, type NavItem } from "./nav";
import type { Look } from "./theme";

export interface PageOf extends NavItem {
  load: () => Promise<{ default: ComponentType<{ look: Look }> }>;
}

const loads: Record<string, PageOf["load"]> = {
  "": () => import("./pages/explore"),
  pvs: () => import("./pages/pvs"),
  pv: () => import("./pages/pv"),
  archive: () => import("./pages/archive"),
  groups: () => import("./pages/groups"),
  login: () => import("./pages/login"),
};

export const pages: PageOf[] = nav.map((item) => ({ ...item, load: loads[item.name] }));
