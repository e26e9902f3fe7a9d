"""What a tile plan costs on a device, by arithmetic: occupancy, traffic, roofline floors."""
