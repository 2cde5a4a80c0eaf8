import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Path of an installed Chromium, or undefined. */
export function findChromium(): string | undefined {
  for (const name of NAMES) {
    const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return undefined;
}

/** Starts the installed Chromium without a window. Its sandbox does not work for root. */
export async function openBrowser(executablePath: string): Promise<Browser> {
  return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
