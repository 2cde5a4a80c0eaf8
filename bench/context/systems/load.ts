import type { Row } from '../row.ts';
import { aiSdkRows } from './ai-sdk.ts';
import { langChainRows } from './langchain.ts';

/** Rows of other systems, as far as their packages are installed in this folder. */
export interface OtherSystems {
  readonly rows: readonly Row[];
  /** Names of packages that are not installed. */
  readonly missing: readonly string[];
}

export async function loadOtherSystems(): Promise<OtherSystems> {
  const missing: string[] = [];
  const load = async (name: string): Promise<unknown> => {
    try {
      return await import(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
      missing.push(name);
      return undefined;
    }
  };
  const core = await load('@langchain/core/messages');
  const chain = await load('langchain');
  const sdk = await load('ai');
  const rows = [
    ...(core === undefined || chain === undefined
      ? []
      : langChainRows(...([core, chain] as Parameters<typeof langChainRows>))),
    ...(sdk === undefined ? [] : aiSdkRows(...([sdk] as Parameters<typeof aiSdkRows>))),
  ];
  return { rows, missing };
}
