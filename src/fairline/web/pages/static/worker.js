/**
 * The service worker of the waiting page: it shows what the server says by Web Push, also when the page is closed. It
 * handles nothing else, and caches nothing.
 */

self.addEventListener("push", (event) => {
  const { title, body, tag, url } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, { body, tag, renotify: true, data: { url } }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = new URL(event.notification.data.url, location.origin);
  const shown = async () => {
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const page = pages.find((each) => new URL(each.url).pathname === url.pathname);
    return page ? page.focus() : self.clients.openWindow(url.href);
  };
  event.waitUntil(shown());
});
