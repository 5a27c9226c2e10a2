"""The pages for people: what someone who waits sees in a browser, on the wall and at the door."""
