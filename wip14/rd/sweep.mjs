import {evaluate} from './ev.mjs'; import fs from 'node:fs'; import * as L from '/work/out/quality/lib.mjs'; import {make} from './compose.mjs';
export function sweep(o,{cvs=['fam','half'],taus=[0.5,0.8,1.1,1.5,2],at20=78,at2k=62,full=false,name='',fams=false}={}){
  let line=name.padEnd(28);
  for(const cv of cvs){
    for(const b of [0.2,2000]){
      const pts=taus.map(tau=>evaluate(make({...o,tau},cv),{budgets:[b],quiet:true,full})[b].fm);
      const at=b<1?at20:at2k; const ip=(k)=>{for(let i=0;i+1<pts.length;i++){const a=pts[i],c=pts[i+1];const r0=100*a.recall,r1=100*c.recall;if((r0>=at&&r1<=at)||(r0<=at&&r1>=at)){const f=(r0-at)/((r0-r1)||1);return 100*(a[k]+(c[k]-a[k])*f);}}return NaN;};
      line+=` | ${cv} ${b}@${at}: J ${ip('J').toFixed(1)} rare ${ip('rare').toFixed(1)} uk ${ip('userKeep').toFixed(0)}  [${pts.map(p=>(100*p.recall).toFixed(0)+'/'+(100*p.rare).toFixed(0)+'/'+(100*p.J).toFixed(0)).join(' ')}]`;
    }
  }
  console.log(line);
}
