"""Tools that call an HTTP service: one reads, one writes.

    antiphon call examples/http_tools.py --say "What is the price of coffee?" "Order three coffee" "yes"
    antiphon call examples/http_tools.py --say "What is the price of gold?"
    antiphon dev examples/http_tools.py

Watch: the order reaches the service once, with a key; the service refuses an item that it does not have, and the agent
says so. Try: stop the service's answers (return 503 in `do_GET`): what reads is tried again, what writes is not.
"""

import json
import os
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from antiphon import Agent, RunContext, ToolError, function_tool


def request(path: str, body: dict | None = None, key: str = "") -> dict:
    """Ask the service. Its address and its credentials come from the environment, never from the model."""
    call = urllib.request.Request(
        os.environ.get("SHOP_URL", "") + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {os.environ['SHOP_KEY']}", "Idempotency-Key": key},
    )
    try:
        with urllib.request.urlopen(call, timeout=5) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        refused.close()
        if refused.code == 404:
            raise ToolError("The shop does not have that. It has coffee, tea and honey.") from refused
        raise


class Shop(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You sell groceries. Be brief.")

    # A plain function runs in a thread of its own. An async one would use aiohttp or httpx.
    @function_tool(effect="reads", timeout=10)
    def get_price(self, item: str) -> str:
        """Tell the price of an item.

        Args:
            item: The item, one of coffee, tea, honey
        """
        return f"One {item} is {request(f'/prices/{item}')['price']} euros."

    @function_tool(effect="writes", confirm="{quantity} times {item}. Shall I order it?")
    def place_order(self, ctx: RunContext, item: str, quantity: int) -> str:
        """Place an order.

        Args:
            item: The item, one of coffee, tea, honey
            quantity: How many
        """
        order = request("/orders", {"item": item, "quantity": quantity}, ctx.idempotency_key)
        return f"The order is placed. Its number is {order['number']}."


PRICES = {"coffee": 7, "tea": 4, "honey": 9}
ORDERS: dict[str, dict] = {}


class Service(BaseHTTPRequestHandler):
    """Stands for a service somewhere else, so that this file needs no network."""

    def do_GET(self) -> None:
        price = PRICES.get(self.path.removeprefix("/prices/").lower())
        self.answer(404 if price is None else 200, {"price": price})

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = f"A{len(ORDERS) + 101}"
        self.answer(201, ORDERS.setdefault(self.headers["Idempotency-Key"], {**order, "number": number}))

    def answer(self, status: int, body: dict) -> None:
        known = self.headers["Authorization"] == f"Bearer {os.environ['SHOP_KEY']}"
        self.send_response(status if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


if "SHOP_URL" not in os.environ:
    service = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    os.environ["SHOP_URL"] = f"http://127.0.0.1:{service.server_port}"
    os.environ["SHOP_KEY"] = "a-key-of-the-example"
