import { z } from 'zod';
import { parseInput } from '../domain/parse.ts';
import { WIRE_FORMATS, type WireFormat } from '../domain/raw-items.ts';

/** What `--format` says. @throws invalid_input */
export function readFormat(name: string): WireFormat {
  return parseInput(z.enum(WIRE_FORMATS), name, '--format');
}
