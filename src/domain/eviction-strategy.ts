import { z } from 'zod';
import { boundedList } from './bounded-schemas.ts';

const share = z.number().gt(0).lte(1);
const count = z.number().int().min(0);

export type EvictionStrategy =
  | {
      /**
       * Share of the removable tokens to evict, the least useful messages first. Among equals, the oldest goes first.
       */
      readonly evict: number;
    }
  | {
      /** Number of messages that stay. */
      readonly retain: number;
    }
  | {
      /** The strategy that would evict least is used. */
      readonly min: readonly EvictionStrategy[];
    }
  | {
      /** The strategy that would evict most is used. */
      readonly max: readonly EvictionStrategy[];
    };

const MAX_MEMBERS = 20;
/** Maximum nesting of strategies. With a YAML anchor, a strategy could contain itself. */
const MAX_STRATEGY_DEPTH = 4;
const strategyError = `expected exactly one of evict, retain, min, max, nested at most ${MAX_STRATEGY_DEPTH} levels deep`;

function strategySchema(depth: number): z.ZodType<EvictionStrategy> {
  const evict = z.strictObject({ evict: share });
  const retain = z.strictObject({ retain: count });
  if (depth === 0) return z.union([evict, retain], strategyError);
  const members = boundedList(strategySchema(depth - 1), MAX_MEMBERS).min(1);
  return z.union([evict, retain, z.strictObject({ min: members }), z.strictObject({ max: members })], strategyError);
}

export const evictionStrategySchema = strategySchema(MAX_STRATEGY_DEPTH);
