import { stat } from 'node:fs/promises';

export interface Progress {
  advance(bytes: number, messages: number): void;
  /** Clears the line of the bar. The next call of `advance` draws the bar again. */
  clear(): void;
}

const SILENT: Progress = { advance: () => undefined, clear: () => undefined };
const BAR_WIDTH = 30;
/** Columns for `100% 1000000 messages, 10000/s` and the brackets around the bar. */
const TEXT_WIDTH = 36;
const REDRAW_MS = 100;

/** @param path standard input (`-`) has no known size, so only figures are shown */
export async function openProgress(path: string, terminal: NodeJS.WriteStream): Promise<Progress> {
  if (!terminal.isTTY) return SILENT;
  const size = path === '-' ? 0 : await readSize(path);
  const startMs = performance.now();
  let [bytes, messages, drawnMs, width] = [0, 0, Number.NEGATIVE_INFINITY, 0];
  // Blanks overwrite the previous line, because escape sequences are not printed. A line of full width would wrap.
  const draw = (text: string): void => {
    const line = text.slice(0, Math.max(0, terminal.columns - 1));
    terminal.write(`\r${line.padEnd(width)}${line === '' ? '\r' : ''}`);
    width = line.length;
  };
  return {
    advance(moreBytes, moreMessages) {
      bytes += moreBytes;
      messages += moreMessages;
      const nowMs = performance.now();
      if (nowMs - drawnMs < REDRAW_MS) return;
      drawnMs = nowMs;
      const rate = Math.round((messages * 1000) / Math.max(1, nowMs - startMs));
      draw(`${drawBar(bytes, size, terminal.columns)}${messages} messages, ${rate}/s`);
    },
    clear() {
      if (width > 0) draw('');
    },
  };
}

function readSize(path: string): Promise<number> {
  return stat(path).then(
    (file) => file.size,
    () => 0,
  );
}

/** Without space for a bar, only the percentage is shown. */
function drawBar(done: number, of: number, columns: number): string {
  if (of === 0) return '';
  const share = Math.min(1, done / of);
  const width = Math.max(0, Math.min(BAR_WIDTH, columns - TEXT_WIDTH));
  const filled = Math.round(share * width);
  const bar = width === 0 ? '' : `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}] `;
  return `${bar}${Math.floor(share * 100)}%  `;
}
