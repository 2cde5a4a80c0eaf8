import {evaluate} from './ev.mjs'; import * as L from '/work/out/quality/lib.mjs'; import {STRATEGIES} from '/work/out/quality/strategies.mjs'; import {convs} from './ev.mjs';
const df=L.dfTables(convs);
for(const s of ['salience+window','mask','window']) evaluate(({pre,budget,point})=>STRATEGIES[s]({pre,preText:'',budget,df,nd:point}),{name:s});
