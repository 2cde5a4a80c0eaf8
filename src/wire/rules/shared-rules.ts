import { describesTools, hasObjectArguments } from './calls.ts';
import { endsAnswerable, startsWithUser } from './ends.ts';
import { keepsBatchesWhole, pairsCallsAndResults } from './pairing.ts';
import type { Rules } from './rule.ts';
import { fits } from './size.ts';
import { keepsSummariesWithUser } from './summaries.ts';
import { holdsNothingEmpty, isWellFormed } from './texts.ts';
import type { BodyView } from './view.ts';

/**
 * The rules that hold in every format, as far as a body shows them. X10 and X12 compare two things: `checkOrder`,
 * `checkOpenRound`. `form` is no rule of a provider's own: what it names could not be read, and no other rule saw it.
 */
export const sharedRules: Rules<BodyView> = {
  form: ({ malformed }) => malformed,
  X1: pairsCallsAndResults,
  X2: keepsBatchesWhole,
  X3: holdsNothingEmpty,
  X4: endsAnswerable,
  X5: startsWithUser,
  X6: describesTools,
  X7: hasObjectArguments,
  X8: isWellFormed,
  X9: fits,
  X11: keepsSummariesWithUser,
};
