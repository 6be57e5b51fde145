// What is wrong with how a page is laid out, as sentences; none if it can be read. Measured from what was drawn.
(() => {
  const found = new Set(), edge = 1.5, gutters = 68; // the page's and a card's padding on both sides, and borders
  const wide = document.documentElement.clientWidth, screen = Math.min(wide, 1152) - gutters;
  const short = (text) => JSON.stringify(text.length > 50 ? text.slice(0, 49) + "…" : text);
  const name = (node) => node.tagName.toLowerCase() + (node.id ? "#" + node.id : "")
    + [...node.classList].map((one) => "." + one).join("");
  const path = (node) => [node.parentElement && name(node.parentElement), name(node)].filter(Boolean).join(" > ");
  const kept = (of) => { const known = new Map(); return (node) => { if (!known.has(node)) known.set(node, of(node)); return known.get(node); }; };
  const style = kept((node) => getComputedStyle(node));
  const say = (node, text, what) => found.add(`${path(node)} ${what}: ${short(text)}`);
  const hidden = (box) => box.right <= 0 || box.bottom + scrollY <= 0 || box.width <= 1 || box.height <= 1;
  const block = kept((node) => style(node).display.startsWith("inline") ? block(node.parentElement) : node);
  const visible = kept((node) => node.checkVisibility({ visibilityProperty: true }) && !hidden(block(node).getBoundingClientRect()));
  const frameOf = kept((node) => (node.closest("svg") ?? block(node)).getBoundingClientRect());

  // Each piece of text that must stay whole. A line may end after a hyphen or a slash.
  const pieces = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const own = text.parentElement;
    if (!text.data.trim() || own.closest("script, style, title, noscript, option") || !visible(own)) continue;
    for (const part of text.data.matchAll(/[^\s/–-]+[/–-]*|[/–-]+/g)) {
      const range = document.createRange();
      range.setStart(text, part.index);
      range.setEnd(text, part.index + part[0].length);
      const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
      if (boxes.length) pieces.push({ own, range, text: part[0], boxes, whole: text.data.trim() });
    }
  }

  // Whether a line ends between two letters or digits, or behind a point or comma within a name or a number.
  const torn = ({ range, text }) => {
    const node = range.startContainer, tops = [...text].map((_, i) => {
      const one = document.createRange();
      one.setStart(node, range.startOffset + i);
      one.setEnd(node, range.startOffset + i + 1);
      return one.getBoundingClientRect().top;
    });
    return tops.some((top, i) => i && top > tops[i - 1] + 4 && /[\p{L}\p{N}_.,][\p{L}\p{N}_]/u.test(text.slice(i - 1, i + 1)));
  };

  const around = new Map(); // the pieces of each block
  for (const piece of pieces) {
    const { own, text, boxes, whole } = piece;
    const cell = block(own), inside = frameOf(own);
    if (!around.has(cell)) around.set(cell, []);
    around.get(cell).push(piece);
    const lines = new Set(boxes.map((box) => Math.round(box.top / 4)));
    const width = boxes.reduce((sum, box) => sum + box.width, 0);
    if (lines.size > 1 && width < screen && torn(piece)) say(own, text, `breaks a word of ${Math.round(width)} px into ${lines.size}`);
    if (boxes.some((box) => box.left < inside.left - edge || box.right > inside.right + edge))
      say(own, whole, `has text outside of its ${Math.round(inside.width)} px`);
    if (boxes.some((box) => box.right > wide + edge || box.left < -edge) && !own.closest(".sideways"))
      say(own, whole, "has text outside of the screen");
    if (boxes[0].height < 10) say(own, text, `has letters of ${boxes[0].height.toFixed(1)} px`);
  }

  // Nothing is cut, and only what says so scrolls.
  if (document.scrollingElement.scrollWidth > wide)
    found.add(`the page is ${document.scrollingElement.scrollWidth} px wide on ${wide}`);
  for (const node of document.body.querySelectorAll("*")) {
    if (style(node).overflowX === "visible" || node.closest("svg") || !node.checkVisibility()) continue;
    if (hidden(node.getBoundingClientRect()) || node.scrollWidth <= node.clientWidth + edge) continue;
    const said = document.getElementById(node.getAttribute("aria-describedby"));
    if (!(node.tabIndex === 0 && said && said.checkVisibility() && /sideways/.test(said.textContent)))
      say(node, node.textContent.trim(), `cuts ${node.scrollWidth - node.clientWidth} px and does not say that it scrolls`);
  }
  for (const drawing of document.querySelectorAll("svg, [role=meter]")) {
    const box = drawing.getBoundingClientRect();
    if (drawing.checkVisibility() && (box.width < 40 || box.height < 5)) say(drawing, "", "is a drawing too small to be seen");
  }

  // A text takes no more lines than its card has room for, give or take.
  for (const [cell, own] of around) {
    const lines = new Set(own.flatMap((piece) => piece.boxes.map((box) => Math.round(box.top / 4)))).size;
    const width = own.flatMap((piece) => piece.boxes).reduce((sum, box) => sum + box.width + 5, 0);
    const room = (cell.closest("section, form") ?? document.body).clientWidth - 32;
    if (lines > 2 * Math.ceil(width / room) + 2) say(cell, cell.textContent.trim(), `is squeezed into ${lines} lines`);
  }

  // No text lies over another.
  const boxes = pieces.flatMap((piece) => piece.boxes.map((box) => ({ box, piece }))).sort((a, b) => a.box.top - b.box.top);
  boxes.forEach(({ box, piece }, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].box.top < box.bottom - 4; j++) {
      const other = boxes[j].box;
      if (piece !== boxes[j].piece && Math.min(box.right, other.right) - Math.max(box.left, other.left) > edge
          && Math.min(box.bottom, other.bottom) - other.top > 4) say(piece.own, piece.whole, `lies over ${short(boxes[j].piece.whole)}`);
    }
  });

  // Contrast of each text with what lies below it, after WCAG 2.
  const colour = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { rgb: [r, g, b], a }; };
  const mixed = (over, a, under) => over.map((x, i) => a * x + (1 - a) * under[i]);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((n) => n / 255).map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const below = kept((node) => {
    if (!node) return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    const own = colour(style(node).backgroundColor);
    return own.a === 1 ? own.rgb : mixed(own.rgb, own.a, below(node.parentElement));
  });
  for (const own of new Set(pieces.map((piece) => piece.own))) {
    const ground = below(own), ink = colour(own.closest("svg") ? style(own).fill : style(own).color);
    let seen = ink.a;
    for (let node = own; node; node = node.parentElement) seen *= Number(style(node).opacity);
    const [a, b] = [light(mixed(ink.rgb, seen, ground)), light(ground)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) say(own, own.textContent.trim(), `has a contrast of ${ratio.toFixed(1)}`);
  }

  // The page is as long as what stands on it takes.
  const area = (box) => box.width * box.height;
  const text = pieces.reduce((sum, piece) => sum + piece.boxes.reduce((all, box) => all + area(box) * 1.2, 0), 0);
  const drawn = [...document.querySelectorAll("svg, input, button")].reduce((sum, node) => sum + area(node.getBoundingClientRect()), 0);
  const emptiness = document.scrollingElement.scrollHeight * screen / (text + drawn);
  return { faults: [...found], height: document.scrollingElement.scrollHeight, emptiness };
})()
