/* Scripts of the readership report: current number of readers, tips beside the pointer, local times, printing.
   Without them the page is complete. */

import { watchReaders } from "./now.js";
import { showTips } from "./tips.js";

watchReaders(document.querySelector("#now"));
showTips(document.querySelectorAll(".plot"));

for (const time of document.querySelectorAll("time")) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.valueOf())) {
    time.title = `${moment.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })} where you are`;
  }
}

const print = document.querySelector("#print");
print.hidden = false;
print.addEventListener("click", () => window.print());
