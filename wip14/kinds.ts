import { findPoints } from '/work/wt/me/bench/context/points.ts';
import { prepareOfflineAgent, weighConversation, createOfflineSummarizers } from '/work/wt/me/src/evaluation/offline-agent.ts';
import { RememberedCounts } from '/work/wt/me/src/evaluation/remembered-counts.ts';
import { compactConversation } from '/work/wt/me/src/evaluation/compact.ts';
import { renderMessages } from '/work/wt/me/src/evaluation/quality/searchable-text.ts';
import { countTokens } from '/work/wt/me/bench/context/points.ts';
const counts = new RememberedCounts(); const by = {};
for (const b of findPoints((process.env.G ?? '').split(',').filter(Boolean))) { const budget = Math.floor(0.2 * b.tokens); const prepared = await prepareOfflineAgent({ maxTokens: budget }, {}, counts);
 try { const r = await compactConversation(await weighConversation(b.point.source, prepared), prepared, await createOfflineSummarizers(counts)); const t = renderMessages(r.messages); const s = b.scorer.score(t);
  const k = r.report.steps.map((x) => x.step).join('+'); (by[k] ??= []).push([s.recall, s.selectivity ?? 0, countTokens(t) / budget, budget]); }
 catch (e) { (by['inf'] ??= []).push([0, 0, 0, budget]); } }
for (const [k, v] of Object.entries(by).sort((a, b) => b[1].length - a[1].length)) console.log(k.padEnd(40), v.length, [0, 1, 2, 3].map((i) => (v.reduce((a, c) => a + c[i], 0) / v.length).toFixed(2)).join(' '));
