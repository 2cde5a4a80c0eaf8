import * as P from '../prototype.ts';import * as L from '/work/out/quality/lib.mjs';
function slices(g){let max=0,total=0;for(;;){const t=performance.now();const r=g.next();const dt=performance.now()-t;max=Math.max(max,dt);total+=dt;if(r.done)return {max,total,value:r.value};}}
const rnd=(s=>()=>(s=(Math.imul(s,1103515245)+12345)>>>0)/2**32)(5);
const word=()=>Math.floor(rnd()*36**6).toString(36);
const src={
 'one line, 1 MiB, no space':[{role:'user',content:'find x'},{role:'assistant',content:'',toolCalls:[{id:'1',name:'run',arguments:'{}'}]},{role:'tool',content:'a'.repeat(2**20)}],
 'one line, 1 MiB, joined by dots':[{role:'tool',content:'ab1.'.repeat(2**18)}],
 '1 MiB digits':[{role:'tool',content:'0123456789 '.repeat(95000)}],
 '1 MiB distinct ids':[{role:'tool',content:Array.from({length:130000},word).join(' ')}],
 '1 MiB Han':[{role:'tool',content:Array.from({length:2**19},()=>String.fromCharCode(0x4e00+Math.floor(rnd()*3000))).join('')}],
 '1 MiB newlines':[{role:'tool',content:'\n'.repeat(2**20)}],
 '300k short lines':[{role:'tool',content:'a b1\n'.repeat(200000)}],
 '1 MiB arguments':[{role:'assistant',content:'',toolCalls:[{id:'1',name:'w',arguments:JSON.stringify({content:Array.from({length:130000},word).join('\n')})}]},{role:'tool',content:'ok'}],
 '10,000 messages':Array.from({length:10000},(_,i)=>i%2?{role:'tool',content:`${word()} status: ok ${word()}`}:{role:'assistant',content:`step ${i} ${word()}`,toolCalls:[{id:`${i}`,name:'get',arguments:JSON.stringify({id:word()})}]}),
 '93 KB answer near the end':[{role:'user',content:'Please fix the build of project turnfold-x7.'},...Array.from({length:40},(_,i)=>i%2?{role:'tool',content:`file src/mod${i}.ts has error E${1000+i}: ${word()}`}:{role:'assistant',content:`I read mod${i}.`,toolCalls:[{id:`${i}`,name:'read',arguments:JSON.stringify({path:`src/mod${i}.ts`})}]}),{role:'assistant',content:'Now the log.',toolCalls:[{id:'z',name:'log',arguments:'{}'}]},{role:'tool',content:Array.from({length:1500},(_,i)=>`2024-05-01 12:${i%60}:00 INFO worker-${i%7} handled job ${word()} in ${i} ms`).join('\n')},{role:'assistant',content:'The log names job 17.'}],
};
for(const [name,m] of Object.entries(src)){for(const B of [2000]){let best=null;for(let k=0;k<3;k++){const a=slices(P.readEvidence(m,'',[]));const e=a.value;const t=performance.now();const ws=slices(P.worthOf(e,P.WEIGHTS,.9));const w=ws.value,tw=ws.max;const c=P.newChoice(e);const tt=performance.now();P.forceParts(e,c,.2*B,.3*B);const tf=performance.now()-tt;const b=slices(P.chooseFragments(e,w,B,c));const t3=performance.now();const s=P.renderRange(e,c,0,m.length);const tr=performance.now()-t3;const r={read:a.total,readMax:a.max,worth:tw,force:tf,choose:b.total,chooseMax:b.max,render:tr,terms:e.terms.length,frags:e.fragments.length,out:L.tok(s)};if(!best||r.read+r.choose<best.read+best.choose)best=r;}
 console.log(name.padEnd(34),Object.entries(best).map(([k,v])=>k+' '+(+v).toFixed(v>100?0:1)).join('  '));}}
