import {evaluate,convs} from './ev.mjs';import {maker} from './ev2.mjs';import * as L from '/work/out/quality/lib.mjs';import {STRATEGIES} from '/work/out/quality/strategies.mjs';
const df=L.dfTables(convs);const f=x=>(100*x).toFixed(0);
const row=(name,fn)=>{let s=name.padEnd(18);for(const b of [0.2,2000]){const r=evaluate(fn,{budgets:[b],quiet:true,full:false})[b];s+=` | ${b} (${r.rows.length}): ${['recall','rare','J'].map(k=>f(r.fm[k])).join('/')}`;}console.log(s);};
for(const cv of ['grp','fam'])for(const s of [0.85])row(`ours ${cv} ${s}`,maker(cv,{users:.2,tail:.3,strictness:s}));
for(const s of ['salience+window','mask','window','random'])row(s,({pre,budget})=>STRATEGIES[s]({pre,preText:'',budget,df,seed:11}));
