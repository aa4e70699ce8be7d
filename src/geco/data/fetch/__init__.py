"""From a publisher to a folder: requests, downloads that continue, archives unpacked with care."""
