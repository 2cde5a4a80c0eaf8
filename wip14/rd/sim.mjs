import {evaluate,points} from './ev.mjs';import {evidenceOf,weightsOf} from './ev2.mjs';import * as P from '../prototype.ts';import * as L from '/work/out/quality/lib.mjs';
// the ladder's shape: fixed parts first, summaries as messages with a heading, users' words in place, floor
export const stats={};
export function sim({scope='sequences',users=0.2,tail=0.3,strictness=0.85,floor=6,lastWhole=1,head=8,minSeq=24,local=false,weights=null,worthFn=null}){return cv=>({budget,point})=>{
  const e=evidenceOf(point),w=weights??weightsOf(point,cv);const worth=worthFn?worthFn(e,point,cv,strictness):local?localWorth(e,w,strictness):P.runToEnd(P.worthOf(e,w,strictness));
  const n=e.messages.length;let best='',bt=0,target=budget;
  for(let k=0;k<6;k++){
    const c=P.newChoice(e);const ids=[...Array(n)].map(()=>[]);e.fragments.forEach((f,i)=>ids[f.message].push(i));
    const size=m=>ids[m].reduce((s,i)=>s+e.fragments[i].tokens,3);
    let fixed=0;
    if(lastWhole&&e.lastUser>=0){if(size(e.lastUser)<=(globalThis.LASTCAP??0.5)*target){ids[e.lastUser].forEach(i=>P.take(e,c,i));fixed=c.tokens;}else stats.lastBig=(stats.lastBig??0)+(k===0?1:0);}
    const left=target-fixed;
    // the floor: newest `floor` messages as part of the tail
    P.forceParts(e,c,users*left,tail*left);
    P.runToEnd(P.chooseFragments(e,worth,target,c));
    // text: messages and summaries
    const out=[];let at=0;let tailStart=n;while(tailStart>0&&n-tailStart<floor)tailStart--;while(tailStart>0&&e.messages[tailStart]?.role==='tool')tailStart--;
    if(scope==='prefix'){const s=P.renderRange(e,c,0,tailStart);if(s)out.push('[user] Summary of messages 1 to '+tailStart+'\n'+s);out.push(P.renderRange(e,c,tailStart,n));}
    else while(at<n){let end=at+1;if(e.messages[at].role!=='user'&&at<tailStart){while(end<tailStart&&e.messages[end].role!=='user')end++;const s=P.renderRange(e,c,at,end);if(s)out.push(`[user] Summary of messages ${at+1} to ${end}\n`+s);}else out.push(P.renderRange(e,c,at,end));at=end;}
    const text=out.filter(Boolean).join('\n'),u=L.tok(text);
    if(u<=budget&&u>bt){best=text;bt=u;}
    if(u<=budget&&(u>0.95*budget||k>3))break;target*=u>budget?0.985*budget/u:Math.min(1.3,0.985*budget/u);}
  return best;};}
function localWorth(e,w,strictness){ // every sequence is read alone, as a summarizer without global evidence would
  const worth=new Float64Array(e.terms.length).fill(-1e9);const idx=new Map(e.terms.map((t,i)=>[t.text,i]));let a=0;const n=e.messages.length;
  while(a<n){let b=a+1;if(e.messages[a].role!=='user')while(b<n&&e.messages[b].role!=='user')b++;const l=P.runToEnd(P.readEvidence(e.messages.slice(a,b),'',[]));const v=P.runToEnd(P.worthOf({...l,known:e.known},w,strictness));l.terms.forEach((t,i)=>{const j=idx.get(t.text);if(j!==undefined)worth[j]=Math.max(worth[j],v[i]);});a=b;}
  return worth.map(x=>x<-1e8?0:x);}
const f=x=>(100*x).toFixed(0);
export function show(name,o,cvs=['grp']){let s=name.padEnd(34);for(const cv of cvs)for(const b of [0.2,2000]){stats.lastBig=0;const r=evaluate(sim(o)(cv),{budgets:[b],quiet:true,full:true})[b];const m=r.fm;s+=` | ${cv} ${b}: ${f(m.recall)}/${f(m.rare)}/${f(m.J)} users ${f(m.userKeep)} anch ${f(m.anchored)} gA${r.rows.filter(x=>x.gA).length} gD${r.rows.filter(x=>x.gD).length} gN${r.rows.filter(x=>x.gN).length} over${r.rows.filter(x=>x.over).length} low${r.rows.filter(x=>x.lowFill).length} lastBig ${stats.lastBig}`;}console.log(s);}
if(process.argv[1].endsWith('sim.mjs')){
for(const cv of ['grp','fam']){show('sequences '+cv,{strictness:.85},[cv]);show('prefix '+cv,{scope:'prefix',strictness:.85},[cv]);}
show('sequences, local evidence',{local:true});globalThis.LASTCAP=0.9;show('sequences, last user whole to .9',{});show('prefix, last user whole to .9',{scope:'prefix'});
}
