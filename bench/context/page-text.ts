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
  [
    'A',
    'Answerability: questions about the past of the conversation that the context answers, of 100. The mean of the kinds below',
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

const KINDS: readonly (readonly [string, string])[] = [
  ['goal, ask', 'First and last request of the user, in their words'],
  ['rules', 'Sentences of the user with words such as must, never, please or only'],
  [
    'value, usedValue',
    'Last value of a key of a thing, e.g. the status of an order. Used values are those of the next 40 messages. Asked if results are records',
  ],
  ['outcome, failure', 'Did this call work? The last 15 calls, and those of them that failed'],
  ['edited, lastEdit', 'Files that the agent changed, and the file that it changed last'],
  ['test', 'Counts of the last test run'],
  ['todo', 'Status of each item of the last todo list'],
  ['said', 'Last statement of the agent'],
  ['values known', 'Values over all contexts together, because some points have few'],
  ['wrong of stated', 'Stated values that are not the last. A context should not mislead'],
];

const ROWS: readonly (readonly [string, string])[] = [
  ['oracle', 'Knows the needles. Shows what is possible'],
  ['random lines', 'Lines chosen at random'],
  ['window', 'The newest rounds'],
  ['head+tail', 'The first and the newest rounds, long results clipped'],
  ['mask', 'Old results hidden, then the oldest rounds dropped'],
  [
    'calls + window',
    'One line for each older call with its outcome and for each older request, then the newest rounds',
  ],
  ['salience + window', 'Older lines with many names for their size, then the newest rounds'],
  ['LangChain, AI SDK', 'Their own code from npm. Code that knows no budget keeps as much as fits'],
  [
    'LangChain summarization (mock)',
    'Its middleware. The model answers with the first and the last part of what it gets',
  ],
  ['turnfold summary', 'One structural summary with the whole budget'],
  [
    'turnfold',
    'The whole compaction with the default policy. Other rows of this name change one setting. `--rows` lists more of them',
  ],
  [
    'turnfold + recall',
    'The same with one call of the `recall` tool. Its query is the next user request, its answer is part of the budget',
  ],
];

export const INTRODUCTION = [
  '<!-- Written by npm run bench:context -- --write from bench/context/page.ts. -->',
  '# Context quality',
  'For readers who want to know what a compacted context still holds, and how that is measured.',
].join('\n\n');

export const OWN_CONVERSATIONS = `## Measure your own conversations

The figures of this page hold for its recordings. Your agents, tools and languages differ, so measure your own. A file has one conversation per line, as \`turnfold export\` writes it.

\`\`\`sh
turnfold replay talks.jsonl --policy policy.yaml       # recall of your policy, beside a window of equal size

# in a clone of the repository: all rows and both measures over the files of a folder
npm ci --prefix bench/context/systems                  # optional: rows of other systems
npm run bench:context -- --held-out ./talks --budgets 0.2,2000
npm run bench:context -- --held-out ./talks --budgets 0.2 --reader anthropic/claude-haiku-5-5
\`\`\`

Without \`--held-out\`, the benchmark measures the recordings beside the project. \`--reader\` asks a real model the same questions, with one context and nothing else. It prints the number of requests and their cost before the first request, and asks at most 30. [Try a policy before it counts](../how-to/try-a-policy.md) explains \`replay\`.`;

export const METHOD = [
  '## Method',
  'A recorded conversation is cut at 50 % and at 75 % of its tokens. Each row compacts everything before the cut to the same budget. ' +
    'The messages after the cut show what the agent needed. The messages before it answer the questions about the past.',
  toMarkdown({ header: ['column', 'meaning'], rows: COLUMNS }),
  'Code finds the questions in the log, and looks for the answers in the context. Other words for the same answer do not count.',
  toMarkdown({ header: ['kind of question', 'the answer'], rows: KINDS }),
  'All values are means over the cuts of a family of conversations, then over the families. ' +
    'Intervals come from a bootstrap over conversations: 95 of 100 other draws of as many conversations would have a mean inside. A mean has none if a family has one conversation. ' +
    'Budgets in tokens apply to sources of at least 20,000 tokens.',
  toMarkdown({ header: ['row', 'meaning'], rows: ROWS }),
].join('\n\n');

export const LIMITS: readonly string[] = [
  '**Presence is not understanding.** A model may ignore a needle that its context holds. A fact in other words counts as lost, so summaries of models are undervalued.',
  'Questions have answers that code can find. Reasons, plans and quality of work are not asked.',
  'The measure knows names, numbers and rare words. It does not see reasons or plans in common words.',
  'Needles are taken from the recorded agent. If that agent made a mistake, the measure asks for that mistake.',
  'Most recordings are English, and most are service or coding. The sources of service conversations are short: 20 % are a few hundred tokens.',
  'The learned weights of turnfold were fitted on some of these recordings. `--held-out <folder>` measures others.',
  'One cut is one compaction. The columns *passes* and *billed* come from whole runs, in which a row compacts its own contexts again.',
  'Planted facts are made up, so the agent never uses them.',
];
