// fast evaluation: node ev.mjs strategyModule [opts]
import fs from 'node:fs';
import * as L from '/work/out/quality/lib.mjs';
export const FAM={tau_airline:'service',tau2_retail:'service',coding_miniswe:'swe-bash',coding_sweagent:'swe-bash',coding_pi:'coding',coding_forge:'coding',chat_aider:'chat'};
export const convs=L.load('/work/shared/traces'); export const byId=new Map(convs.map(d=>[d.id,d]));
export const points=JSON.parse(fs.readFileSync(new URL(process.env.POINTS??'points.json',import.meta.url)));
for(const p of points){for(const x of p.list)x.anch=new Set(x.anch);p.preAtoms=new Set(p.preAtoms);p.fam=FAM[p.group];}
function preOf(p){const d=byId.get(p.id);const pre=d.messages.slice(0,p.t).filter(m=>m.role!=='system');const sys=d.messages.filter(m=>m.role==='system').map(m=>m.content).join('\n');return {pre,sys};}
const preTextC=new Map();
export function scorePoint(p,ctx,full=true){
  const {pre}=preOf(p);
  const hit=new Map(),anc=new Map();
  for(const x of p.list){const h=L.has(ctx,x.a)>=0;hit.set(x,h);if(full)anc.set(x,h&&L.anchored(ctx,x.a,x.anch));}
  const frac=(f,m=hit)=>{const l=p.list.filter(f);return l.length?l.filter(x=>m.get(x)).length/l.length:null;};
  const r={recall:frac(()=>true),ident:frac(x=>x.type!=='word'),word:frac(x=>x.type==='word'),ctrl:p.control.length?p.control.filter(a=>L.has(ctx,a)>=0).length/p.control.length:null,
   rare:frac(x=>x.k<=2),far:frac(x=>x.age>0.4&&!x.fromUser),hard:frac(x=>!x.fromUser),arg:frac(x=>x.use==='arg')};
  r.J=r.ident!==null&&r.ctrl!==null?r.ident-r.ctrl:null;
  if(full){r.anchored=frac(()=>true,anc);
   const ats=[...L.atoms(ctx).keys()];
   let preText=preTextC.get(p); if(preText===undefined){preText=pre.map(L.render).join('\n');preTextC.set(p,preText);}
   r.novel=ats.length?ats.filter(a=>!p.preAtoms.has(a)&&L.has(preText,a)<0).length/ats.length:0;
   const ch=[...ctx.matchAll(/[\w.@/#$-]*[\d_/@#$][\w.@/#$-]*/g)].reduce((s,m)=>s+m[0].length,0);
   r.idDensity=ctx.length?ch/ctx.length:0;
   const cw=L.plain(ctx);r.userKeep=p.userW.length?p.userW.filter(w=>cw.has(w)).length/p.userW.length:null;
  }
  return r;
}
const mean=a=>{a=a.filter(x=>x!==null&&x!==undefined&&!Number.isNaN(x));return a.length?a.reduce((x,y)=>x+y,0)/a.length:NaN;};
export const fams=['service','swe-bash','coding','chat'];
export function evaluate(fn,{budgets=[0.2,2000],filter=()=>true,quiet=false,full=true,name=''}={}){
  const res={};
  for(const b of budgets){
    const rows=[];let ms=0,maxms=0;
    for(const p of points){ if(!filter(p))continue; if(b>1&&p.total<20000)continue;
      const {pre,sys}=preOf(p); const budget=b<1?Math.floor(p.total*b):b;
      const t0=performance.now();const ctx=fn({pre,sys,budget,point:p});const dt=performance.now()-t0;ms+=dt;maxms=Math.max(maxms,dt);
      const used=L.tok(ctx);const r=scorePoint(p,ctx,full);
      rows.push({p,...r,used,fill:used/budget,over:used>budget,
       gA:full&&r.recall>0&&r.anchored/r.recall<0.2,gD:full&&r.idDensity>Math.max(2*p.density,0.4),gN:full&&r.novel>0.12,lowFill:used<0.7*budget});
    }
    const fm=k=>mean(fams.map(f=>mean(rows.filter(r=>r.p.fam===f).map(r=>r[k]))));
    const pc=x=>(100*x).toFixed(1).padStart(5);
    const keys=['recall','rare','J','ident','ctrl','word','far','hard','arg','anchored','userKeep','fill'];
    res[b]={rows,fm:Object.fromEntries(keys.map(k=>[k,fm(k)]))};
    if(!quiet){
      console.log(`${name} b=${b} n=${rows.length} ms ${ms.toFixed(0)} max ${maxms.toFixed(0)}  over ${rows.filter(r=>r.over).length} lowfill ${rows.filter(r=>r.lowFill).length} gA ${rows.filter(r=>r.gA).length} gD ${rows.filter(r=>r.gD).length} gN ${rows.filter(r=>r.gN).length}`);
      console.log('   '+'FAM'.padEnd(9)+keys.map(k=>k.slice(0,6).padStart(7)).join(''));
      console.log('   '+'mean'.padEnd(9)+keys.map(k=>pc(fm(k)).padStart(7)).join(''));
      for(const f of fams)console.log('   '+f.padEnd(9)+keys.map(k=>pc(mean(rows.filter(r=>r.p.fam===f).map(r=>r[k]))).padStart(7)).join(''));
    }
  }
  return res;
}
