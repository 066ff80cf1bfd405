// The search of the manual. The index is a script and not a document to fetch, so that it also works for files.

(() => {
  const root = document.currentScript.dataset.root;
  const box = document.querySelector(".search");
  const input = document.getElementById("search");
  const list = document.getElementById("search-results");
  const status = document.getElementById("search-status");
  const MOST = 12;

  // Scores a page for one word: its title counts most, then its summary, then its text; 0 if it has none of it.
  function scoreWord(word, title, summary, words) {
    if (title === word) return 60;
    if (title.split(/[\s.]/).includes(word)) return 30;
    if (title.includes(word)) return 15;
    if (summary.includes(word)) return 6;
    if (words.includes(` ${word} `)) return 3;
    return words.includes(` ${word}`) ? 1 : 0;
  }

  function scorePage([, , title, summary, words], query, asked) {
    const name = title.toLowerCase();
    const texts = [name, summary.toLowerCase(), ` ${words} `];
    const scores = asked.map((word) => scoreWord(word, ...texts));
    if (scores.includes(0)) return 0;
    const bonus = name === query || name === `docshare ${query}` ? 1000 : name.startsWith(query) ? 20 : 0;
    return bonus + scores.reduce((sum, each) => sum + each, 0) - name.length / 1000;
  }

  function find(text) {
    const query = text.trim().toLowerCase().replace(/\s+/g, " ");
    if (!query) return [];
    const asked = query.split(" ");
    return docshareIndex
      .map((row) => [scorePage(row, query, asked), row])
      .filter(([score]) => score > 0)
      .sort(([one], [other]) => other - one)
      .slice(0, MOST)
      .map(([, row]) => row);
  }

  function drawResult([path, section, title, summary]) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const more = document.createElement("span");
    link.href = root + path;
    link.textContent = title;
    more.textContent = section === "api" ? `API · ${summary}` : summary;
    link.append(more);
    item.append(link);
    return item;
  }

  function show() {
    const rows = find(input.value);
    list.replaceChildren(...rows.map(drawResult));
    list.hidden = rows.length === 0;
    status.textContent = input.value.trim() ? `${rows.length || "No"} ${rows.length === 1 ? "page" : "pages"} found` : "";
  }

  function move(event) {
    const links = [...list.querySelectorAll("a")];
    const place = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      input.value = "";
      show();
      input.focus();
    } else if (event.key === "Enter" && document.activeElement === input && links.length) {
      links[0].click();
    } else if (event.key === "ArrowDown" && place < links.length - 1) {
      links[place + 1].focus();
    } else if (event.key === "ArrowUp" && place >= 0) {
      (links[place - 1] ?? input).focus();
    } else {
      return;
    }
    event.preventDefault();
  }

  box.hidden = false;
  input.addEventListener("input", show);
  box.addEventListener("keydown", move);
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
})();
