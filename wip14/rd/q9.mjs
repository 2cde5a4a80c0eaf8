import {evaluate} from './ev.mjs';import {maker} from './ev2.mjs';
const r=evaluate(maker('grp',{users:.2,tail:.3,strictness:.85}),{budgets:[0.2],quiet:true,full:true})[0.2].rows;
for(const x of r.filter(x=>x.lowFill||x.gA||x.gD))console.log(x.p.id,x.p.t,'total',x.p.total,'budget',Math.floor(x.p.total*.2),'used',x.used,'low',x.lowFill,'A',x.gA,'D',x.gD,(100*x.idDensity).toFixed(0),(100*x.p.density).toFixed(0),'recall',x.recall.toFixed(2));
const fl=r.map(x=>x.fill).sort((a,b)=>a-b);console.log('fill',fl.slice(0,6).map(x=>x.toFixed(2)),fl[fl.length>>1].toFixed(2));
