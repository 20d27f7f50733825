// Explore is the page that plots PVs.

export { App as default } from "../app";
