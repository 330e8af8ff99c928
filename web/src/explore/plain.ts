// What readers without scripts see of Explore: a picture, and the sentence of each page.

import { commit, job, plug, queue, read, rebuild, site } from "./texts";

/** The HTML; `picture` is a PNG in base 64. */
export function plainPage(picture: string): string {
  const pages = [read, queue, plug, commit, rebuild, job];
  const sentences = pages.map(({ name, keep }) => `<dt><strong>${name}</strong></dt><dd>${keep}</dd>`);
  return (
    `<h1>${site.title}</h1>\n<p>${site.plain}</p>\n` +
    `<p><img src="data:image/png;base64,${picture}" alt="${site.picture}" style="max-width:100%"></p>\n` +
    `<dl>${sentences.join("\n")}</dl>`
  );
}
