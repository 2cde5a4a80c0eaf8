import { stat } from 'node:fs/promises';

/** Tells a person how far a command is: on a terminal, and nowhere else. */
export interface Progress {
  /** so many bytes of the file have been read, and so many of its messages are done */
  advance(bytes: number, messages: number): void;
  /** takes the line away, so that something else can stand there; the next advance draws it again */
  clear(): void;
}

const SILENT: Progress = { advance: () => undefined, clear: () => undefined };
const BAR_WIDTH = 30;
/** `100%  1000000 messages, 10000/s`, and brackets around the bar */
const TEXT_WIDTH = 36;
const REDRAW_MS = 100;

/** @param path of the file that is read; of standard input the end is not known, so that there is no bar */
export async function openProgress(path: string, terminal: NodeJS.WriteStream): Promise<Progress> {
  if (!terminal.isTTY) return SILENT;
  const size = path === '-' ? 0 : await readSize(path);
  const startMs = performance.now();
  let [bytes, messages, drawnMs, width] = [0, 0, Number.NEGATIVE_INFINITY, 0];
  // Blanks over what stood there: a terminal without escape sequences shows the same. A line that is full would wrap.
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

/** As wide as the terminal leaves room for; without any, the share alone. */
function drawBar(done: number, of: number, columns: number): string {
  if (of === 0) return '';
  const share = Math.min(1, done / of);
  const width = Math.max(0, Math.min(BAR_WIDTH, columns - TEXT_WIDTH));
  const filled = Math.round(share * width);
  const bar = width === 0 ? '' : `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}] `;
  return `${bar}${Math.floor(share * 100)}%  `;
}
