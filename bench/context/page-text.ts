import { CACHE_READ, CACHE_WRITE, THRESHOLD_RATIO } from './live.ts';
import { toMarkdown } from './tables.ts';

const COLUMNS: readonly (readonly [string, string])[] = [
  ['points', 'Cuts for which the row makes a context of that size. Other cuts are not in its means'],
  [
    'recall',
    '*Needles* that the context holds, of 100. A needle is a name, number, path or rare word that the agent first uses in the next 40 messages. It occurs before the cut, and nothing brings it again before its use',
  ],
  ['rare', 'Recall of needles in at most two messages of the source'],
  ['far', 'Recall of needles that only the oldest 60 % of the source holds, and no user message'],
  ['arg', 'Recall of needles that the agent uses in the arguments of a call'],
  [
    'J',
    'Recall of names and numbers, minus the share of similar ones that were kept and never used again. A context that keeps everything has 0',
  ],
  ['anchored', 'Needles that stand beside words of the source'],
  ['user words', 'Plain words of user messages that the context holds'],
  ['fill', 'Tokens of the context, of 100 tokens of its budget'],
  ['< 70 %', 'Contexts that use less than 70 % of their budget'],
  [
    'guards broken',
    'Contexts above the budget, with broken rounds, without words around the needles, too dense, or with invented names',
  ],
  [
    'passes',
    `Compactions per 100 requests, when the conversation is compacted whenever its context reaches ${THRESHOLD_RATIO} times the budget`,
  ],
  [
    'billed',
    `Tokens billed per request in that run. A token read from the prompt cache costs ${CACHE_READ}, a token written to it ${CACHE_WRITE}. Calls of summarizers are not included`,
  ],
  ['ms', 'Time of one compaction'],
];

const ROWS: readonly (readonly [string, string])[] = [
  ['oracle', 'Knows the needles. Shows what is possible'],
  ['random lines', 'Lines chosen at random'],
  ['window', 'The newest rounds'],
  ['head+tail', 'The first and the newest rounds, long results clipped'],
  ['mask', 'Old results hidden, then the oldest rounds dropped'],
  ['LangChain, AI SDK', 'Their own code from npm. Code that knows no budget keeps as much as fits'],
  [
    'LangChain summarization (mock)',
    'Its middleware. The model answers with the first and the last part of what it gets',
  ],
  ['turnfold summary', 'One structural summary with the whole budget'],
  ['turnfold, turnfold prefix', 'The whole compaction with the default policy, and with `scope: prefix`'],
  [
    'turnfold + recall',
    'The same with one call of the `recall` tool. Its query is the next user request, its answer is part of the budget',
  ],
];

export const INTRODUCTION = [
  '<!-- Written by npm run bench:context -- --write from bench/context/page.ts. -->',
  '# Context quality',
  'For readers who want to know what a compacted context still holds, and how that is measured.',
  '```sh\nnpm ci --prefix bench/context/systems # optional: rows of other systems\nnpm run bench:context -- --budgets 0.2,2000\n```',
].join('\n\n');

export const METHOD = [
  '## Method',
  'A recorded conversation is cut at 50 % and at 75 % of its tokens. Each row compacts everything before the cut to the same budget. ' +
    'The messages after the cut show what the agent needed.',
  toMarkdown({ header: ['column', 'meaning'], rows: COLUMNS }),
  'All values are means over the cuts of a family of conversations, then over the families. ' +
    'Budgets in tokens apply to sources of at least 20,000 tokens.',
  toMarkdown({ header: ['row', 'meaning'], rows: ROWS }),
].join('\n\n');

export const LIMITS: readonly string[] = [
  '**Presence is not understanding.** A model may ignore a needle that its context holds. A fact in other words counts as lost.',
  'The measure knows names, numbers and rare words. It does not see reasons or plans in common words.',
  'Needles are taken from the recorded agent. If that agent made a mistake, the measure asks for that mistake.',
  'Most recordings are English, and most are service or coding. The sources of service conversations are short: 20 % are a few hundred tokens.',
  'The learned weights of turnfold were fitted on some of these recordings. `--held-out <folder>` measures others.',
  'One cut is one compaction. The columns *passes* and *billed* come from whole runs, in which a row compacts its own contexts again.',
  'Planted facts are made up, so the agent never uses them.',
];
