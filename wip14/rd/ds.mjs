// training with family-LOO, 2-fold by conversation, all
import fs from 'node:fs'; import {dataset,fit,auc} from './train.mjs'; import {FEATURES} from './ledger.ts';
export const fold=id=>{let h=0;for(const c of id)h=(h*31+c.charCodeAt(0))>>>0;return (h>>>3)&1;};
const t0=Date.now();
const rows=dataset([0.4,0.5,0.65,0.75]);
const useNames=process.argv[2]; const drop=new Set((process.argv[3]??'target,targetOnly,partUse,partUseRes,partAsk,partAskRes,endLine').split(',').filter(Boolean));
const use=new Set(FEATURES.map((f,i)=>[f,i]).filter(([f])=>!drop.has(f)).map(x=>x[1]));
const o={l2:+(process.env.L2??60),iters:8,use};
const W={all:[...fit(rows,o)]};console.log(FEATURES.map((f,i)=>`${f} ${W.all[i].toFixed(2)}`).join('  '));console.log('all',auc(rows,W.all));
let s='';for(const f of ['service','swe-bash','coding','chat']){W[f]=[...fit(rows.filter(r=>r.fam!==f),o)];s+=JSON.stringify(auc(rows.filter(r=>r.fam===f),W[f]));}console.log('LOO',s);
for(const g of new Set(rows.map(r=>r.group))){W['grp_'+g]=[...fit(rows.filter(r=>r.group!==g),o)];console.log('grp',g,auc(rows.filter(r=>r.group===g),W['grp_'+g]));}
const h={};for(const k of [0,1]){W['half'+k]=[...fit(rows.filter(r=>fold(r.id)!==k),o)];console.log('half',k,auc(rows.filter(r=>fold(r.id)===k),W['half'+k]));}

const baseN=new Set('bias,msgs,lowerOnly,cap,camel,snake,digits,mixed,compound,path,len,short,han,allcaps,len2,logN,logTerms,keyed'.split(',').filter(x=>x!=='keyed'));
const ob={...o,use:new Set(FEATURES.map((f,i)=>[f,i]).filter(([f])=>baseN.has(f)).map(x=>x[1]))};
const B={all:[...fit(rows,ob)]};for(const f of ['service','swe-bash','coding','chat'])B[f]=[...fit(rows.filter(r=>r.fam!==f),ob)];for(const g of new Set(rows.map(r=>r.group)))B['grp_'+g]=[...fit(rows.filter(r=>r.group!==g),ob)];for(const k of [0,1])B['half'+k]=[...fit(rows.filter(r=>fold(r.id)!==k),ob)];
console.log('base',auc(rows,B.all));fs.writeFileSync('base-cv.json',JSON.stringify(B));
fs.writeFileSync('weights-cv.json',JSON.stringify(W));console.log(Date.now()-t0,'ms');
