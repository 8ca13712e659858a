// A person: whom the user follows, who follows the actor of this name, and the way to the feed.

import { chooser } from "./address.js";
import { isLocal, query, tokenUser } from "./api.js";
import { PEOPLE } from "./compose.js";
import { div, el, empty, heading, suggested } from "./dom.js";
import { followersCard, followsCard } from "./follows.js";
import { watch } from "./live.js";

export function open(place, parameters, signal) {
  const user = parameters.get("user") ?? tokenUser() ?? (isLocal() ? "bob" : "");
  const cards = div("columns even");
  const draw = () => cards.replaceChildren(followsCard(user, signal), followersCard(`actor:${user}`, signal));
  place.append(
    heading("Follows", "The actors and subjects that a user follows, whose posts fan-out delivers to the user's feed, and the followers of the actor of the same name."),
    userForm("follows", user, user && el("a", { href: `#events${query({ feed: user })}` }, `Feed of ${user}`)),
    user ? cards : div("card", empty("No user is selected.", "Enter the user that your token acts for.")),
  );
  if (user) signal.addEventListener("abort", watch({ begin: () => cards.contains(document.activeElement) || draw() }));
}

/** The form that chooses the user of a panel. */
export const userForm = (panel, user, ...more) =>
  chooser(panel, "User", "user", suggested(isLocal() ? PEOPLE : [], { value: user, required: true }), el("span", { class: "beside" }, ...more));
