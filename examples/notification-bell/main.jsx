// The page: Bob's bell. Bob follows Ada.

import { createRoot } from "react-dom/client";
import { Lately } from "@lately/client";

import { Bell } from "./bell";

const lately = new Lately({ url: "http://127.0.0.1:3000", token: "bob" });
await lately.user("bob").follow("actor:ada");
createRoot(document.getElementById("root")).render(<Bell feed={lately.feed("bob")} />);
