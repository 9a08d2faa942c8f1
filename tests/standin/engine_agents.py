"""Agents that differ in trade, forms and flow, for the engine's own tests."""

from __future__ import annotations

from typing import Any, Literal

from antiphon.tools.function import FunctionTool, ToolError, function_tool
from tests.standin.engine_talk import Talk

RECEPTIONIST = """You are a friendly receptionist at Bright Smile Dental clinic.
Keep responses brief and conversational. Never use markdown or emojis.

When a caller asks about availability, use check_availability to look up
real slots. Never guess or make up times.

When a caller wants to book, collect their full name, preferred date, and
preferred time slot. Then use book_appointment to complete the booking.
If the caller has not provided all three pieces of information, ask for
the missing ones before calling the tool.

If a requested time is not available, let the caller know and suggest
the available alternatives.

After booking, ask if there is anything else you can help with."""

SLOTS = ["9:00 AM", "11:30 AM", "2:00 PM", "4:30 PM"]


def receptionist() -> Talk:
    @function_tool
    def check_availability(date: str) -> str:
        """Check available appointment slots for a given date.

        Args:
            date: The date to check availability for (e.g., "next Tuesday", "March 15")
        """
        return f"Available slots for {date}: {', '.join(SLOTS)}"

    @function_tool
    def book_appointment(patient_name: str, date: str, time: str) -> str:
        """Book a dental appointment for a patient.

        Args:
            patient_name: The patient's full name
            date: The appointment date (e.g., "next Tuesday", "March 15")
            time: The appointment time slot (e.g., "9:00 AM", "2:00 PM")
        """
        if time not in SLOTS:
            raise ToolError(f"{time} is not an available slot. Available: {', '.join(SLOTS)}")
        talk.tool_says(f"I have booked an appointment for {patient_name} on {date} at {time}.")
        return (
            f"Appointment confirmed: {patient_name}, {date} at {time}. Ask if there is anything else you can help with."
        )

    talk = Talk([check_availability, book_appointment], RECEPTIONIST)
    return talk


def restaurant(open_slots: list[str] | None = None) -> Talk:
    slots = ["6:00 PM", "7:30 PM", "8:15 PM"] if open_slots is None else open_slots

    @function_tool
    def check_availability(date: str, party_size: int, meal: Literal["lunch", "dinner"]) -> str:
        """Check open reservation slots for a given date and meal.

        Call this when the user asks about availability. Don't call it
        until you have the date, party size, and meal (must be "lunch"
        or "dinner").

        Args:
            date: Reservation date in YYYY-MM-DD format.
            party_size: Number of guests, between 1 and 12.
            meal: Either "lunch" or "dinner".

        Returns:
            A speech-ready summary of available times.
        """
        if not slots:
            return f"No {meal} availability on {date} for a party of {party_size}."
        return f"{len(slots)} {meal} slots open on {date}: {', '.join(slots)}."

    @function_tool
    def find_alternatives(date: str, party_size: int) -> str:
        """Find nearby dates with availability when the requested date is full."""
        talk.tool_says("Let me check what else is open.")
        return "The day after has tables at 6 PM and 8 PM."

    @function_tool
    def book_reservation(date: str, time: str, party_size: int, read_back: bool) -> str:
        """Book a reservation. Only call after reading the details back to the user.

        Args:
            date: Reservation date in YYYY-MM-DD format.
            time: Reservation time in 24-hour HH:MM format.
            party_size: Number of guests, between 1 and 12.
            read_back: Set to True only after you have read the date, time,
                and party size back to the user and they have confirmed.
        """
        if not read_back:
            return "Read the date, time, and party size back to the user first, then call this tool again."
        return f"Booked for {party_size} on {date} at {time}. Confirmation #R-1842."

    talk = Talk(
        [check_availability, find_alternatives, book_reservation],
        "You take restaurant reservations. Confirm the date, time, and party size with the user before booking. "
        "Always read the details back before calling book_reservation.",
    )
    return talk


def taxi() -> Talk:
    @function_tool
    def quote_fare(pickup: str, destination: str) -> dict[str, Any]:
        """Estimate the fare for a trip.

        Args:
            pickup: Where the trip starts
            destination: Where the trip ends
        """
        return {"fare": "18 to 22 dollars", "minutes": 25}

    @function_tool
    def order_taxi(
        pickup: str, destination: str, car_type: Literal["standard", "van", "luxury"], passengers: int
    ) -> str:
        """Order a taxi for the caller.

        Args:
            pickup: The pickup address
            destination: The destination address
            car_type: The type of car
            passengers: How many passengers will ride, from 1 to 7
        """
        return f"Your {car_type} car is on its way to {pickup}. It will arrive in 8 minutes."

    @function_tool
    def cancel_taxi(phone: str) -> str:
        """Cancel a taxi that was ordered.

        Args:
            phone: The phone number used for the order
        """
        return "The taxi has been cancelled."

    return Talk([quote_fare, order_taxi, cancel_taxi], "You take orders for Blue Cab in Springfield.")


def hotel() -> Talk:
    @function_tool
    def search_rooms(check_in: str, nights: int, guests: int) -> list[dict[str, Any]]:
        """Search for free rooms.

        Args:
            check_in: Check-in date, YYYY-MM-DD
            nights: Number of nights
            guests: Number of guests
        """
        return [{"name": "Garden Room", "price": 120}, {"name": "Tower Suite", "price": 240}]

    @function_tool
    def reserve_room(
        check_in: str,
        nights: int,
        room_type: Literal["single", "double", "suite"],
        guest_name: str,
        breakfast: bool = False,
    ) -> str:
        """Reserve a room for a guest.

        Args:
            check_in: Check-in date, YYYY-MM-DD
            nights: Number of nights
            room_type: Kind of room
            guest_name: Full name of the guest
            breakfast: Whether breakfast is included
        """
        return f"Reserved a {room_type} room for {guest_name}. Your confirmation code is HX4471."

    @function_tool
    def cancel_stay(confirmation_code: str) -> str:
        """Cancel a stay.

        Args:
            confirmation_code: The confirmation code, e.g. "HX4471"
        """
        if not confirmation_code.startswith("HX"):
            raise ToolError("No stay matches that confirmation code. Ask the guest to double-check the code.")
        return f"Stay {confirmation_code} is cancelled."

    return Talk([search_rooms, reserve_room, cancel_stay], "You work at the front desk of the Grand Harbor Hotel.")


def library() -> Talk:
    @function_tool
    def search_books(title: str) -> str:
        """Search the catalogue for a book.

        Args:
            title: The title of the book
        """
        return f"We have two copies of {title} on the shelf."

    @function_tool
    def renew_loan(card_number: str) -> str:
        """Renew all loans on a library card.

        Args:
            card_number: The library card number, e.g. "LC-20418"
        """
        return "All loans are renewed until December 12."

    @function_tool
    def opening_hours(day: str) -> str:
        """Tell the opening hours of the library.

        Args:
            day: Day of the week, e.g. "Monday"
        """
        return f"On {day} we are open from 9 AM to 6 PM."

    return Talk([search_books, renew_loan, opening_hours], "You answer the phone of the Oak Street Library.")


def pharmacy() -> Talk:
    @function_tool
    def refill_prescription(prescription_number: str, date_of_birth: str) -> str:
        """Refill a prescription.

        Args:
            prescription_number: The prescription number, seven digits
            date_of_birth: The patient's date of birth in YYYY-MM-DD format
        """
        return "Your refill will be ready tomorrow at 3 PM. Tell the user to bring an ID."

    @function_tool
    def leave_message(name: str, phone_number: str, message: str) -> str:
        """Leave a message for the pharmacist.

        Args:
            name: The caller's name
            phone_number: A number to call back
            message: What the message is about
        """
        return "The message has been left. Say goodbye to the user."

    return Talk([refill_prescription, leave_message], "You answer calls for Hill Pharmacy.")


def airline() -> Talk:
    @function_tool
    def flight_status(flight_number: str) -> dict[str, Any]:
        """Get the status of a flight.

        Args:
            flight_number: The flight number, for example "BA117"
        """
        return {"status": "delayed", "gate": "B12", "departs": "17:40"}

    @function_tool
    def change_seat(booking_reference: str, seat: Literal["window", "aisle", "middle"]) -> str:
        """Change the seat of a booking.

        Args:
            booking_reference: Six letters or digits
            seat: The kind of seat
        """
        return f"Done, you now have a {seat} seat."

    @function_tool
    def request_callback(email: str) -> str:
        """Have a human agent write to the caller.

        Args:
            email: The caller's email address
        """
        return "A colleague will write to you within the hour."

    return Talk([flight_status, change_seat, request_callback], "You help passengers of Northwind Air.")


def studio() -> Talk:
    @function_tool
    def list_classes(day: str) -> str:
        """List the classes that take place on a day.

        Args:
            day: The day to look at (e.g., "Monday", "tomorrow")
        """
        return "Pilates at 9:00 AM, Boxing at 12:30 PM, and Spin at 6:00 PM."

    @function_tool
    def book_class(class_name: str, day: str, time: str, member_name: str) -> str:
        """Sign a member up for a class.

        Args:
            class_name: Name of the class, for example "Pilates" or "Spin"
            day: The day of the class (e.g., "Monday", "tomorrow")
            time: Start time, e.g. "6:00 PM"
            member_name: Full name of the member
        """
        if class_name.lower() == "boxing":
            raise ToolError("Boxing is full. Offer to put the user on the waiting list.")
        return f"{member_name} is signed up for {class_name} on {day} at {time}."

    @function_tool
    def join_waiting_list(class_name: str, member_name: str) -> str:
        """Put a member on the waiting list when a class is full.

        Args:
            class_name: Name of the class
            member_name: Full name of the member
        """
        return "You are number 3 on the waiting list."

    @function_tool
    def cancel_booking(member_name: str, class_name: str) -> str:
        """Cancel a member's class booking.

        Args:
            member_name: Full name of the member
            class_name: Name of the class to cancel
        """
        return f"The {class_name} booking is cancelled."

    return Talk([list_classes, book_class, join_waiting_list, cancel_booking], "You answer the phone at Iron Works.")


def courier() -> Talk:
    @function_tool
    def track_parcel(tracking_number: str) -> dict[str, Any]:
        """Look up where a parcel is.

        Args:
            tracking_number: The tracking number, two letters and eight digits, e.g. "PK12345678"
        """
        if len(tracking_number) != 10:
            raise ToolError("That tracking number is not valid. Ask the user to read it again.")
        return {"status": "out for delivery", "location": "Leeds depot", "expected": "2026-11-23"}

    @function_tool
    def reschedule_delivery(
        tracking_number: str, new_date: str, window: Literal["morning", "afternoon", "evening"]
    ) -> str:
        """Move a delivery to another day. Only call this after the caller has confirmed the details.

        Args:
            tracking_number: The tracking number
            new_date: The new delivery date in YYYY-MM-DD format
            window: Part of the day
        """
        return f"The delivery is moved to {new_date} in the {window}."

    @function_tool
    def report_damage(tracking_number: str, description: str, wants_refund: bool) -> str:
        """Report a damaged parcel.

        Args:
            tracking_number: The tracking number
            description: What is damaged, in the caller's words
            wants_refund: Whether the caller wants a refund
        """
        return "The report is filed under case 8841. Tell the caller that we will write within two days."

    return Talk([track_parcel, reschedule_delivery, report_damage], "You work for Swift Parcels.")


def cabs() -> Talk:
    @function_tool
    def order_taxi(pickup: str, car: Literal["standard", "van", "limousine"], passengers: int) -> str:
        """Order a taxi.

        Args:
            pickup: The address where the caller is picked up
            car: The kind of car
            passengers: How many people will ride, 1 to 8
        """
        return f"A {car} for {passengers} will be at {pickup} in ten minutes."

    return Talk([order_taxi], "You take taxi orders for Blue Cabs. Ask for what is missing, then order.")


def salon() -> Talk:
    @function_tool
    def check_times(day: str, service: Literal["haircut", "colour", "shave"] | None = None) -> str:
        """Check which times are free on a day.

        Args:
            day: The day, e.g. "Monday"
            service: Only times for this service
        """
        return f"On {day} we have 10:00 AM, 1:30 PM and 4:00 PM."

    @function_tool
    def book_chair(
        service: Literal["haircut", "colour", "shave"], day: str, time: str, customer_name: str, phone: str
    ) -> str:
        """Book a chair at the salon. Only call after reading the details back to the caller.

        Args:
            service: What is to be done
            day: The day, e.g. "Monday"
            time: The time, e.g. "10:00 AM"
            customer_name: The customer's name
            phone: The customer's phone number
        """
        return f"See you on {day} at {time}."

    return Talk([check_times, book_chair], "You are the receptionist of Shear Joy. Check availability first.")


def store() -> Talk:
    @function_tool
    def order_status(order_number: str) -> dict[str, str]:
        """Look up the status of an order.

        Args:
            order_number: The order number, six digits
        """
        return {"status": "shipped", "carrier": "DPD"}

    @function_tool
    def return_item(order_number: str, item: str, reason: str) -> str:
        """Start a return for an item.

        Args:
            order_number: The order number, six digits
            item: The item to be returned
            reason: Why it is returned
        """
        return "The return label has been sent by email."

    @function_tool
    def change_address(order_number: str, new_address: str) -> str:
        """Change the delivery address of an order.

        Args:
            order_number: The order number, six digits
            new_address: The new address
        """
        return f"The order will go to {new_address}."

    @function_tool
    def request_callback(name: str, phone: str, note: str = "") -> str:
        """Have a colleague call the customer back.

        Args:
            name: The customer's full name
            phone: The number to call
            note: Anything else the colleague should know, in the customer's own words
        """
        return "A colleague will call within the hour."

    @function_tool
    def end_call() -> str:
        """End the call when the caller says goodbye."""
        return "say goodbye to the user"

    return Talk(
        [order_status, return_item, change_address, request_callback, end_call], "You are the voice of Kettle & Co."
    )


def kitchen() -> Talk:
    cart: list[str] = []

    @function_tool
    def add_pizza(
        kind: Literal["margherita", "pepperoni", "veggie"], size: Literal["small", "medium", "large"], quantity: int = 1
    ) -> str:
        """Add a pizza to the order.

        Args:
            kind: The kind of pizza
            size: The size of the pizza
            quantity: How many of them
        """
        cart.append(f"{quantity} {size} {kind}")
        return f"Added {cart[-1]}."

    @function_tool
    def place_order(address: str, phone: str) -> str:
        """Place the order for delivery when the caller has nothing to add.

        Args:
            address: The delivery address
            phone: The caller's phone number
        """
        return f"The order will be at {address} in forty minutes."

    return Talk([add_pizza, place_order], "You take orders at Luigi's kitchen. Ask for the address and the size.")


def vet() -> Talk:
    @function_tool
    def book_visit(pet_name: str, species: Literal["dog", "cat"], day: str, time: str, owner_name: str) -> str:
        """Book a visit for a pet.

        Args:
            pet_name: What the pet is called
            species: What animal it is
            day: The day, e.g. "Monday" or "March 3"
            time: The time, e.g. "9:15 AM"
            owner_name: The owner's full name
        """
        return f"{pet_name} is booked for {day} at {time}."

    @function_tool
    def reschedule_visit(owner_name: str, new_day: str, new_time: str) -> str:
        """Move a visit to another day.

        Args:
            owner_name: The owner's full name
            new_day: The new day, e.g. "Monday"
            new_time: The new time, e.g. "9:15 AM"
        """
        return f"The visit has been moved to {new_day} at {new_time}."

    return Talk([book_visit, reschedule_visit], "You answer the phone at Paws & Claws.")


def bank() -> Talk:
    verified: list[bool] = []

    @function_tool
    def verify_customer(account_number: str, date_of_birth: str) -> str:
        """Verify the customer.

        Args:
            account_number: The eight digit account number
            date_of_birth: Date of birth in YYYY-MM-DD format
        """
        verified.append(True)
        return "The customer is verified."

    @function_tool
    def get_balance(account: Literal["checking", "savings"]) -> str:
        """Get the balance of an account.

        Args:
            account: Which account
        """
        if not verified:
            raise ToolError("The customer is not verified. Ask for the account number and date of birth.")
        return f"The balance of the {account} account is 1,204 dollars."

    @function_tool
    def block_card(last_four_digits: str, reason: Literal["lost", "stolen", "damaged"]) -> str:
        """Block a card that was lost or stolen.

        Args:
            last_four_digits: The last four digits of the card
            reason: Why it is to be blocked
        """
        return "The card is blocked."

    @function_tool
    def transfer_money(
        amount: float, from_account: Literal["checking", "savings"], to_account: Literal["checking", "savings"]
    ) -> str:
        """Transfer money between the customer's accounts. Confirm with the customer first.

        Args:
            amount: The amount in dollars
            from_account: Where the money comes from
            to_account: Where the money goes
        """
        return f"{amount:g} dollars are in {to_account} now."

    return Talk(
        [verify_customer, get_balance, block_card, transfer_money], "You are the phone assistant of Harbor Bank."
    )


def plumber() -> Talk:
    @function_tool
    def request_visit(address: str, problem: str, urgent: bool, phone: str) -> str:
        """Send a plumber to the caller.

        Args:
            address: Where the plumber should come to
            problem: What is wrong, in the caller's words
            urgent: Whether it is an emergency
            phone: The caller's phone number
        """
        return "A plumber will be there within two hours."

    return Talk([request_visit], "You answer calls for Drip Stop. Find out what is wrong and send a plumber.")


def rental() -> Talk:
    @function_tool
    def reserve_car(
        car_class: Literal["compact", "sedan", "suv"], pickup_date: str, return_date: str, driver_name: str
    ) -> str:
        """Reserve a car. Ask the caller to confirm before you do it.

        Args:
            car_class: The class of car
            pickup_date: First day, YYYY-MM-DD
            return_date: Last day, YYYY-MM-DD
            driver_name: The driver's full name
        """
        return "Reserved under number RC-2071."

    @function_tool
    def cancel_reservation(reservation_number: str, sure: bool) -> str:
        """Cancel a reservation.

        Args:
            reservation_number: e.g. "RC-2071"
            sure: True only after the caller was asked whether they are sure and has confirmed
        """
        return f"Reservation {reservation_number} is cancelled."

    return Talk([reserve_car, cancel_reservation], "You work for Sunny Rental.")


def bakery() -> Talk:
    @function_tool
    def order_cake(
        flavour: Literal["chocolate", "lemon"], size: Literal["six", "ten"], pickup_date: str, customer: str
    ) -> str:
        """Order a cake to collect from the bakery.

        Args:
            flavour: The flavour
            size: For how many people
            pickup_date: When it is collected, YYYY-MM-DD
            customer: The customer's name
        """
        return f"A {flavour} cake for {size} will be ready on {pickup_date}."

    @function_tool
    def cancel_cake(customer: str, confirmed: bool) -> str:
        """Cancel a cake order.

        Args:
            customer: The customer's name
            confirmed: Only true after the customer has confirmed that they want to cancel
        """
        return "The order is cancelled."

    return Talk([order_cake, cancel_cake], "You answer the phone of Crumb Bakery.")


def barber() -> Talk:
    @function_tool
    def book(name: str, day: str, time: str) -> str:
        """Book a haircut.

        Args:
            name: The customer's full name
            day: The day
            time: The time
        """
        if time.startswith("9"):
            raise ToolError("We open at ten.")
        return f"Done, see you {day} at {time}."

    return Talk([book], "You work at Joe's barber shop.")


def garage() -> Talk:
    @function_tool
    def book_repair(plate: str, day: str, problem: str) -> str:
        """Book a repair.

        Args:
            plate: The number plate of the car, e.g. AB12
            day: The day, e.g. Friday
            problem: What is wrong with the car
        """
        return f"The repair is booked for {day}."

    @function_tool
    def cancel_repair(job_number: str) -> str:
        """Cancel a repair.

        Args:
            job_number: The job number, e.g. J7
        """
        return f"Job {job_number} is cancelled."

    @function_tool
    def connect_workshop() -> str:
        """Connect to the workshop, for questions on repairs under way."""
        return "Tell the user that somebody is coming to the phone."

    @function_tool
    def oil_for(model: str) -> str:
        """Recommend an oil for a car.

        Args:
            model: The model, e.g. Golf or Fiesta
        """
        return f"The {model} takes 5W30."

    @function_tool
    def order_part(part: str, phone: str) -> str:
        """Order a part for a car.

        Args:
            part: The part, e.g. mirror
            phone: The caller's phone number
        """
        return f"The {part} is ordered."

    @function_tool
    def wash_car() -> str:
        """Wash and polish a car."""
        return "The car will be washed."

    tools = [book_repair, cancel_repair, connect_workshop, oil_for, order_part, wash_car]
    return Talk(tools, "You answer the phone of Miller's garage.")


AGENTS = {
    "garage": garage,
    "bakery": bakery,
    "barber": barber,
    "cabs": cabs,
    "salon": salon,
    "store": store,
    "kitchen": kitchen,
    "vet": vet,
    "bank": bank,
    "plumber": plumber,
    "rental": rental,
    "studio": studio,
    "courier": courier,
    "receptionist": receptionist,
    "restaurant": restaurant,
    "taxi": taxi,
    "hotel": hotel,
    "library": library,
    "pharmacy": pharmacy,
    "airline": airline,
}

__all__ = ["AGENTS", "FunctionTool"]
