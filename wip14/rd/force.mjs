// forced parts: users' words up to a share, verbatim tail up to a share; the rest is chosen by value
export function forced({users=0,tail=0,lastUser=0.5,first=true}){return (L,chosen,open,b)=>{
  const F=L.fragments;const of=Array.from({length:L.n},()=>[]);F.forEach((f,i)=>of[f.msg].push(i));
  let used=0;const take=i=>{if(chosen[i])return;chosen[i]=1;used+=F[i].tokens+(open[F[i].msg]?0:3);open[F[i].msg]=1;};
  const size=m=>of[m].reduce((s,i)=>s+F[i].tokens,3);
  // users' words: boilerplate once (a line seen in an earlier user message), newest first, the first message before the others
  if(users>0){const cap=users*b;const ms=[...Array(L.n).keys()].filter(m=>L.msgs[m].role==='user');
    const seen=new Set(),dup=new Set();for(const m of ms)for(const i of of[m]){const s=F[i].text.trim();if(s.length>20&&seen.has(s))dup.add(i);seen.add(s);}
    const order=ms.slice().reverse();if(first&&order.length>1){order.splice(1,0,order.pop());}
    let n=order.length;let u0=used;
    // fair cap per message: find level c so that sum(min(size,c)) <= cap
    const sz=order.map(m=>of[m].filter(i=>!dup.has(i)).reduce((s,i)=>s+F[i].tokens,3));
    let lo=0,hi=Math.max(0,...sz);for(let k=0;k<20;k++){const c=(lo+hi)/2;const s=sz.reduce((a,x)=>a+Math.min(x,c),0);if(s<=cap)lo=c;else hi=c;}
    order.forEach((m,k)=>{const fr=of[m].filter(i=>!dup.has(i));if(sz[k]<=lo+1e-6){fr.forEach(take);return;}
      let left=lo;let a=0,z=fr.length-1;while(a<=z){const i=(a<=fr.length-1-z)?fr[a]:fr[z];if(F[i].tokens>left)break;left-=F[i].tokens;take(i);if(i===fr[a]&&a<=fr.length-1-z)a++;else z--;}});
  }
  if(tail>0){let left=tail*b;for(let m=L.n-1;m>=0&&left>0;){let a=m;while(a>0&&L.msgs[a].role==='tool')a--; // round a..m
      let s=0;const need=[];for(let q=a;q<=m;q++)for(const i of of[q])if(!chosen[i]){need.push(i);s+=F[i].tokens;}
      if(s<=left){need.forEach(take);left-=s;}
      else{const small=need.filter(i=>F[i].origin!==3);const t=small.reduce((x,i)=>x+F[i].tokens,0);if(t<=left){small.forEach(take);left-=t;}else break;}
      m=a-1;}}
  return used;};}
