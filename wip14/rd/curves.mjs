import {evaluate,fams} from './ev.mjs';import {make} from './compose.mjs';import {forced} from './force.mjs';
const mean=a=>{a=a.filter(x=>x!==null&&!Number.isNaN(x));return a.length?a.reduce((x,y)=>x+y,0)/a.length:NaN;};
const cv=process.argv[2]??'half',o=JSON.parse(process.argv[3]??'{}');
const taus=[0.3,0.6,0.9,1.2,1.6,2.2];
const R=taus.map(tau=>evaluate(make({force:forced({users:o.u??0.2,tail:o.t??0.2}),...o,tau},cv),{budgets:[0.2,2000],quiet:true,full:false}));
for(const b of [0.2,2000])for(const f of fams)console.log(cv,b,f.padEnd(9),taus.map((t,i)=>{const l=R[i][b].rows.filter(r=>r.p.fam===f);return `${t}: `+['recall','rare','J'].map(k=>(100*mean(l.map(r=>r[k]))).toFixed(0)).join('/');}).join('  '));
