/* Scripts of the readership report: current number of readers, tips beside the pointer, local times, printing.
   Without them the page is complete. */

import { watchReaders } from "./now.js";
import { showLocalTimes } from "./times.js";
import { showTips } from "./tips.js";

watchReaders(document.querySelector("#now"));
showTips(document.querySelectorAll(".plot"));

showLocalTimes(document.querySelectorAll("time"), document.querySelector("#zone"));

const print = document.querySelector("#print");
print.hidden = false;
print.addEventListener("click", () => window.print());
