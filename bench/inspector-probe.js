/** Measures times inside the page, so that the connection of the bench does not count. Runs before the page's own code. */

async function waitForFrame() {
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
}

function countShown() {
  return document.querySelector('dialog pre')?.textContent.length ?? 0;
}

const probe = {
  /** Time at which the first message of the timeline was drawn, in ms since the navigation. */
  drawnMs: 0,
  /** Time from a key to the frame behind the one that the key caused. */
  async timeKey(key) {
    const startedAt = performance.now();
    const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
    document.querySelector('.timeline-frame').dispatchEvent(event);
    await waitForFrame();
    return performance.now() - startedAt;
  },
  /** Time from a click until a dialog shows more text than `shown` characters. */
  async timeClick(selector, shown) {
    const startedAt = performance.now();
    document.querySelector(selector).click();
    while (countShown() <= shown) await new Promise(requestAnimationFrame);
    await waitForFrame();
    return performance.now() - startedAt;
  },
  countShown,
};

globalThis.probe = probe;

new MutationObserver((_, observer) => {
  if (document.querySelector('.timeline-row .row-text') === null) return;
  probe.drawnMs = performance.now();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
