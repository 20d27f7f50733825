// The names of the pages. Each has a line here and in pages.ts, and its path has one in
// engine/serve/ui/ui.go.

export interface NavItem {
  /** The name of the page, which is the last segment of its path. */
  name: string;
  /** What the navigation calls the page. A page without a title is not in the navigation. */
  title?: string;
}

export const nav: NavItem[] = [
  { name: "", title: "Explore" },
  { name: "pvs", title: "PVs" },
  { name: "pv" },
  { name: "archive", title: "Archive" },
  { name: "groups", title: "Groups" },
  { name: "login" },
];
