"""Side rooms: each folder holds a line of work whole: its world, models, training and reproduction.

Nothing outside imports a room. Delete the folder and the room is gone.
"""
