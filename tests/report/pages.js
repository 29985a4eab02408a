// SPDX-License-Identifier: Apache-2.0
// What is wrong with a page, as a list of texts. Contrast: WCAG 2.2, 1.4.3.
(() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth)
    faults.push(`the page is ${root.scrollWidth} pixels wide in a window of ${root.clientWidth}`);

  const channels = colour => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const background = element => {
    const chart = element.closest('svg.sten-chart');
    if (chart) return channels(getComputedStyle(chart.querySelector('.back')).fill);
    for (; element; element = element.parentElement) {
      const colour = channels(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, text = node.textContent.trim();
    if (!text || !element.checkVisibility() || element.closest('script, title, desc')) continue;
    const style = getComputedStyle(element), svg = element.closest('svg');
    const ratio = contrast(channels(svg ? style.fill : style.color), background(element));
    if (ratio < 4.5) seen.add(`contrast ${ratio.toFixed(2)} of "${text.slice(0, 40)}"`);
    if (!svg) continue;
    const box = element.getBoundingClientRect(), frame = element.closest('svg.sten-chart').getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
      seen.add(`"${text.slice(0, 40)}" is cut off by its chart`);
  }
  faults.push(...seen);

  for (const figure of document.querySelectorAll('figure')) {
    const shown = [...figure.querySelectorAll('svg.sten-chart')].filter(svg => svg.checkVisibility());
    if (shown.length !== 1) faults.push(`${shown.length} drawings of one chart are shown`);
    for (const svg of shown)
      if (svg.getAttribute('role') !== 'img' || !svg.getAttribute('aria-label') || !svg.querySelector('title'))
        faults.push('a chart has no name for screen readers');
  }
  for (const head of document.querySelectorAll('th'))
    if (!head.scope) faults.push(`the header "${head.textContent}" has no scope`);
  if (document.querySelectorAll('h1').length !== 1) faults.push('the page has not one title');
  return faults;
})()
