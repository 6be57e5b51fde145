// Everything that comes from a service or a file goes into the page as text, never as markup.
function make(name, attributes = {}, text = null) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  return node;
}
function draw(name, attributes = {}, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  return node;
}
// Rows are lists of cells: a text, or {text, kind, title}. The kind "text" is that of words; others are numbers.
const LONG = 24; // letters of words that may take several lines
function table(node, heads, rows) {
  const words = rows.length ? rows[0].map((cell) => cell.kind === "text") : [];
  const head = make("tr", { class: "heads" });
  head.append(...heads.map((text, i) => make("th", { scope: "col", ...(words[i] && { class: "text" }) }, text)));
  const body = make("tbody");
  body.append(head, ...rows.map((cells) => {
    const row = make("tr");
    row.append(...cells.map((cell, i) => {
      const { text = cell, kind = "", title = "" } = cell;
      const made = make("td", title ? { title } : {});
      made.className = kind + (words[i] && text.length > LONG ? " long" : "");
      made.append(make("span", { class: "label" }, heads[i]), make("span", {}, text));
      return made;
    }));
    return row;
  }));
  node.replaceChildren(body);
  if (!fitted.has(node)) {
    fitted.add(node);
    new ResizeObserver(() => fit(node)).observe(node.parentElement);
  }
  fit(node);
}
const fitted = new WeakSet();
// A table whose columns do not fit is shown as a list of its rows.
function fit(node) {
  node.classList.remove("stacked");
  node.classList.toggle("stacked", node.scrollWidth > node.parentElement.clientWidth);
}
