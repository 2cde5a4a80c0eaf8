import { stat } from 'node:fs/promises';

/** Tells a person how far a command is: on a terminal, and nowhere else. */
export interface Progress {
  /** so many bytes of the file have been read, and so many of its messages are done */
  advance(bytes: number, messages: number): void;
  end(): void;
}

const SILENT: Progress = { advance: () => undefined, end: () => undefined };
const BAR_WIDTH = 30;
const REDRAW_MS = 100;
const TO_LINE_START = '\r\u001B[K';

/** @param path of the file that is read; of standard input the end is not known, so that there is no bar */
export async function openProgress(path: string, terminal: NodeJS.WriteStream): Promise<Progress> {
  if (!terminal.isTTY) return SILENT;
  const size =
    path === '-'
      ? 0
      : await stat(path).then(
          (file) => file.size,
          () => 0,
        );
  const startMs = performance.now();
  let [bytes, messages, drawnMs] = [0, 0, 0];
  return {
    advance(moreBytes, moreMessages) {
      bytes += moreBytes;
      messages += moreMessages;
      const nowMs = performance.now();
      if (nowMs - drawnMs < REDRAW_MS) return;
      drawnMs = nowMs;
      const rate = Math.round((messages * 1000) / Math.max(1, nowMs - startMs));
      terminal.write(`${TO_LINE_START}${drawBar(bytes, size)}${messages} messages, ${rate}/s`);
    },
    end: () => void terminal.write(TO_LINE_START),
  };
}

function drawBar(done: number, of: number): string {
  if (of === 0) return '';
  const share = Math.min(1, done / of);
  const filled = Math.round(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${Math.floor(share * 100)}%  `;
}
