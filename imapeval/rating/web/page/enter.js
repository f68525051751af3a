// The secret is in the fragment, which no server sees; it is exchanged for a cookie that scripts cannot read.
const status = document.getElementById("status");
const secret = location.hash.slice(1);
history.replaceState(null, "", location.pathname + location.search);
const failed = () => { status.textContent = status.dataset.failed; };
const unreached = () => {
  history.replaceState(null, "", `#${secret}`); // Reloading the page tries again.
  status.textContent = status.dataset.unreached;
};
if (!secret) failed();
else {
  fetch("/session", {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({secret}),
  }).then((response) => {
    if (response.ok) location.replace(`/${location.search}`);
    else if (response.status === 401 || response.status === 422) failed();
    else unreached();
  }, unreached);
}
