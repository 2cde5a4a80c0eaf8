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

const ARGS = [
  // The sandbox does not work for root.
  '--no-sandbox',
  '--disable-dev-shm-usage',
  // The pages are not looked at, and the CPU would paint them.
  '--disable-gpu',
  '--disable-software-rasterizer',
  // A process that waits for the next page costs as much as one with a page.
  '--disable-features=SpareRendererForSitePerProcess',
];

/** Starts the installed Chromium without a window. */
export async function openBrowser(executablePath: string): Promise<Browser> {
  return await chromium.launch({ executablePath, args: ARGS });
}
