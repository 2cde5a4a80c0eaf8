import {points} from './ev.mjs';import {evidenceOf,weightsOf} from './ev2.mjs';import * as P from '../prototype.ts';import * as L from '/work/out/quality/lib.mjs';
const p=points.find(x=>x.id==='sweagent-BabyEncryption-fb81'&&x.t===14);const e=evidenceOf(p);
const t=P.runToEnd(P.compose(e,weightsOf(p,'grp'),497,s=>{const n=L.tok(s);console.log('tokens',n);return n;}));
console.log(e.fragments.map(f=>f.tokens|0).sort((a,b)=>b-a).slice(0,30).join(' '),'total',e.tokens|0);console.log(t.slice(0,1500));
