import { findPoints } from '/work/wt/me/bench/context/points.ts';
import { compactWith } from '/work/wt/me/bench/context/ladder-rows.ts';
import { renderMessages, holds } from '/work/wt/me/src/evaluation/quality/searchable-text.ts';
let n = 0; const skip = +(process.env.SKIP ?? 0), max = +(process.env.N ?? 3);
for (const b of findPoints((process.env.G ?? 'tau_airline').split(','))) { if (n++ < skip) continue; if (n > skip + max) break; const bud = Math.floor(0.2 * b.tokens); const ms = await compactWith({}, b, bud); if (!ms) { console.log('INF'); continue; } const t = renderMessages(ms);
 const s = b.scorer.score(t); console.log('=====', b.point.recording.id, b.tokens, bud, 'recall', s.recall.toFixed(2), 'fill', 'msgs', b.point.source.length); console.log(t); console.log('MISSED', b.point.needles.filter((x) => !holds(t, x.text)).map((x) => `${x.text}(${x.kind},${x.messages},${x.age.toFixed(2)})`).join(' | ')); console.log('KEPT', b.point.needles.filter((x) => holds(t, x.text)).map((x) => x.text).join(' | ')); }
