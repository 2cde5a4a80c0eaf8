import { findPoints } from '/work/wt/me/bench/context/points.ts';
import { prepareOfflineAgent, weighConversation, createOfflineSummarizers } from '/work/wt/me/src/evaluation/offline-agent.ts';
import { RememberedCounts } from '/work/wt/me/src/evaluation/remembered-counts.ts';
import { compactConversation } from '/work/wt/me/src/evaluation/compact.ts';
const counts = new RememberedCounts(); const by = {};
for (const b of findPoints()) { const budget = Math.floor(0.2 * b.tokens); const prepared = await prepareOfflineAgent({ maxTokens: budget }, {}, counts);
 try { const r = await compactConversation(await weighConversation(b.point.source, prepared), prepared, await createOfflineSummarizers(counts)); if (process.env.DBG) console.log('KIND', r.report.kind, b.point.recording.group, b.tokens, budget, r.report.steps.map((x) => x.step + x.tokens).join(' '));
 (by[r.report.kind] ??= []).push(r.report.tokensAfter / budget); }
 catch (e) { (by['inf'] ??= []).push(1); if (by.inf.length < 25) console.log(b.point.recording.group, b.tokens, budget, JSON.stringify(e.details), e.message.slice(0, 150), b.point.source.at(-1).role); } }
for (const [k, v] of Object.entries(by)) console.log(k, v.length, v.reduce((a, c) => a + c, 0) / v.length);
