import { z } from 'zod';
import { parseInput } from '../../domain/parse.ts';
import { loadTokenCounter } from '../../tokens/token-counter.ts';
import { readTextFile } from '../files.ts';
import { type Output, writeJson } from '../output.ts';

const encodingSchema = z.enum(['o200k_base', 'cl100k_base']);

/** Counts the tokens of a file's text. @throws invalid_input for an encoding that is not known */
export async function countFile(
  path: string,
  options: { readonly encoding: string; readonly json?: boolean },
  output: Output,
): Promise<number> {
  const counter = await loadTokenCounter(parseInput(encodingSchema, options.encoding, '--encoding'));
  const tokens = await counter.count(await readTextFile(path));
  if (options.json) writeJson(output, { tokens });
  else output.line(`${tokens} tokens (${options.encoding})`);
  return 0;
}
