import { findPoints } from '/work/wt/me/bench/context/points.ts';
import { compactWith } from '/work/wt/me/bench/context/ladder-rows.ts';
import { renderMessages, holds } from '/work/wt/me/src/evaluation/quality/searchable-text.ts';
import { findIdentifiers } from '/work/wt/me/src/evaluation/quality/identifiers.ts';
const c = new Map(); let shown = 0;
for (const b of findPoints((process.env.G ?? 'tau').split(','))) { const ms = await compactWith({}, b, (process.env.B ? +process.env.B : Math.floor(0.2 * b.tokens))); if (!ms) { console.log('INFEASIBLE'); continue; } const t = renderMessages(ms); if (shown++ < 3) console.log('-----', b.tokens, '\n' + t);
 for (const i of findIdentifiers(t).keys()) if (!holds(b.point.sourceText, i)) c.set(i, (c.get(i) ?? 0) + 1); }
console.log([...c].sort((a, b) => b[1] - a[1]).slice(0, 40));
