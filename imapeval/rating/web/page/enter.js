// The secret is in the fragment, which no server sees; it is exchanged for a cookie that scripts cannot read.
const status = document.getElementById("status");
const secret = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const failed = () => { status.textContent = status.dataset.failed; };
if (!secret) failed();
else {
  fetch("/session", {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({secret}), credentials: "same-origin",
  }).then((response) => response.ok ? location.replace("/") : failed(), failed);
}
