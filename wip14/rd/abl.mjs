import {dataset,fit,auc,sauc} from './train.mjs'; import {FEATURES} from './ledger.ts';
const rows=dataset([0.5,0.75]);const F=['service','swe-bash','coding','chat'];
function go(name,drop,l2=60){const use=new Set(FEATURES.map((f,i)=>[f,i]).filter(([f])=>!drop.some(d=>f===d||(d.endsWith('*')&&f.startsWith(d.slice(0,-1))))).map(x=>x[1]));const A={},S={};for(const f of F){const w=fit(rows.filter(r=>r.fam!==f),{l2,iters:7,use});const te=rows.filter(r=>r.fam===f);A[f]=auc(te,w)[f];S[f]=sauc(te,w)[f];}
 const m=o=>(Object.values(o).reduce((a,b)=>a+b)/4).toFixed(4);console.log(name.padEnd(24),'auc',m(A),JSON.stringify(A),'same kind+count',m(S),JSON.stringify(S));}
const NEW=['target','targetOnly','partUse','partUseRes','partAsk','partAskRes','endLine','patCount','patCountRes'];
go('without new',NEW);go('all',[]);go('-target',['target','targetOnly']);go('-partUse',['partUse','partUseRes']);go('-partAsk',['partAsk','partAskRes']);go('-endLine',['endLine']);go('-patCount',['patCount','patCountRes']);
for(const l of [20,200,600])go('l2 '+l,[],l);
